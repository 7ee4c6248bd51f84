"""Training: next-action examples from conversations, how a template renders and masks them, and supervised fine-tuning."""
