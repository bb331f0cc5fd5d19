document.addEventListener('toggle',async e=>{const d=e.target;if(!d.dataset||!d.dataset.z||!d.open)return;
const b=Uint8Array.from(atob(d.dataset.z),c=>c.charCodeAt(0));delete d.dataset.z;
const s=new Blob([b]).stream().pipeThrough(new DecompressionStream('gzip'));
d.querySelector('div').innerHTML=await new Response(s).text()},true)
