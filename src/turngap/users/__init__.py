"""Who speaks for the customer."""
