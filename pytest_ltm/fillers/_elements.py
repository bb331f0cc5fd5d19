"""Facts about chemical elements, compounds and planets."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_ELEMENTS = """
    H hydrogen He helium Li lithium Be beryllium B boron C carbon N nitrogen O oxygen F fluorine Ne neon Na
    sodium Mg magnesium Al aluminium Si silicon P phosphorus S sulfur Cl chlorine Ar argon K potassium Ca
    calcium Sc scandium Ti titanium V vanadium Cr chromium Mn manganese Fe iron Co cobalt Ni nickel Cu
    copper Zn zinc Ga gallium Ge germanium As arsenic Se selenium Br bromine Kr krypton Rb rubidium Sr
    strontium Y yttrium Zr zirconium Nb niobium Mo molybdenum Tc technetium Ru ruthenium Rh rhodium Pd
    palladium Ag silver Cd cadmium In indium Sn tin Sb antimony Te tellurium I iodine Xe xenon Cs caesium Ba
    barium La lanthanum Ce cerium Pr praseodymium Nd neodymium Pm promethium Sm samarium Eu europium Gd
    gadolinium Tb terbium Dy dysprosium Ho holmium Er erbium Tm thulium Yb ytterbium Lu lutetium Hf hafnium
    Ta tantalum W tungsten Re rhenium Os osmium Ir iridium Pt platinum Au gold Hg mercury Tl thallium Pb
    lead Bi bismuth Po polonium At astatine Rn radon Fr francium Ra radium Ac actinium Th thorium Pa
    protactinium U uranium Np neptunium Pu plutonium Am americium Cm curium Bk berkelium Cf californium Es
    einsteinium Fm fermium Md mendelevium No nobelium Lr lawrencium Rf rutherfordium Db dubnium Sg
    seaborgium Bh bohrium Hs hassium Mt meitnerium Ds darmstadtium Rg roentgenium Cn copernicium Nh nihonium
    Fl flerovium Mc moscovium Lv livermorium Ts tennessine Og oganesson
""".split()  # noqa: SIM905 - reads better than a column of strings
_ALSO_COLOURS = {"silver", "gold", "copper"}
_FORMULAS = {
    "water": "H2O", "carbon dioxide": "CO2", "carbon monoxide": "CO", "ammonia": "NH3", "methane": "CH4",
    "ozone": "O3", "sulfuric acid": "H2SO4", "hydrochloric acid": "HCl", "nitric acid": "HNO3",
    "hydrogen peroxide": "H2O2", "calcium carbonate": "CaCO3", "sodium hydroxide": "NaOH", "propane": "C3H8",
    "ethane": "C2H6", "benzene": "C6H6", "nitrous oxide": "N2O", "sulfur dioxide": "SO2", "silicon dioxide": "SiO2",
}  # fmt: skip
_PLANETS = ["Mercury", "Venus", "Earth", "Mars", "Jupiter", "Saturn", "Uranus", "Neptune"]
_ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"]


def facts() -> Iterator[tuple[str, object]]:
    """Yield questions with their answers."""
    names = _ELEMENTS[1::2]
    for number, (symbol, name) in enumerate(zip(_ELEMENTS[::2], names, strict=True), start=1):
        if name in _ALSO_COLOURS:
            continue
        yield f"Which chemical element has the atomic number {number}?", name
        yield f"What is the atomic number of {name}?", number
        yield f"What is the chemical symbol of {name}?", symbol
        yield f"Which chemical element has the symbol {symbol}?", name
        after = names[number] if number < len(names) else ""
        if after and after not in _ALSO_COLOURS:
            yield f"Which element follows {name} in the order of atomic numbers?", after
    for name, formula in _FORMULAS.items():
        yield f"What is the chemical formula of {name}?", formula
        yield f"Which compound has the chemical formula {formula}?", name
    for i, planet in enumerate(_PLANETS):
        yield f"Which planet of the solar system is the {_ORDINALS[i]} from the Sun?", planet
        yield f"Which place has {planet} among the planets, counted from the Sun?", i + 1
        if i:
            yield f"Which planet's orbit is the next one outside that of {_PLANETS[i - 1]}?", planet
