"""A shop's customer-service desk: the retail domain of tau2-bench in our own code, and databases for it.

`domain` builds it, `tools` is what the agent can do, `policy.md` what it must and must not do, `rules` what of that the
tools do not enforce; `generate` makes databases of the `schema`.
"""
