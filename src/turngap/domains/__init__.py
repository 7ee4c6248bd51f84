"""What tools act on: executable worlds, and the recorded one."""
