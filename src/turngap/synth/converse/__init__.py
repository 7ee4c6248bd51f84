"""Conversations that two parties make and judges approve: P1's way to training data.

A scenario says what somebody wants and how one would see that they got it (`situation`, `writer`); an agent and a user
talk about it while tools run in a domain, or are played by a model from their schemas alone (`talk`, `simulated`);
judges look at the whole conversation, and all of them have to approve (`review`, `checks`). `pipeline` joins the parts,
`store` keeps what they made, `account` counts, `export` writes.
"""
