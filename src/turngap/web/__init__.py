"""The viewer: stored runs as pages in a browser, served on this machine or copied into a folder.

Modules named ``*_routes`` turn addresses into pages and data; they and `app`, `serving`, `guarding` and `pages` are all
that knows of HTTP. Every other module computes what a page shows from stored runs, and is used without a server.
"""
