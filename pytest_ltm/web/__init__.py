"""The local page, `ltm serve`: runs, also while they happen, reports and comparisons. It starts and changes nothing.

A page is a module with a list `ROUTES` of Starlette routes, named in `app.py`. Its
functions take what they need of the server from `page_parts.py`: `render_template`
fills a template that extends `layout.html.j2`, `run_folder` finds a run. `guard.py`
stands before all of them: no page looks at secrets, hosts or origins itself. An
`LtmError` becomes a page that says it. Scripts and styles are files in `static/`: the
content security policy runs nothing else.
"""
