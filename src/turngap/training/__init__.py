"""Training: next-action examples from conversations, what a template makes of them, and supervised fine-tuning."""
