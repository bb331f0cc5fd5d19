"""The local pages of `ltm serve`: runs (also in progress), reports, comparisons; they change nothing.

A page is a module with a list `ROUTES` of Starlette routes, named in `app.py`. Its functions use `page_parts.py`:
`render_template` fills a template that extends `layout.html.j2`, `run_folder` finds a run. `guard.py` wraps all of
them, so pages need not check secrets, hosts or origins. An `LtmError` becomes an error page. Scripts and styles are
files in `static/`: the content security policy allows nothing else.
"""
