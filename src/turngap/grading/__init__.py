"""What a finished trial is worth, and what went wrong in it.

`turngap.grading.grader` puts a `Reward` together out of one module for each component; `turngap.grading.symptom` names
what went wrong, with the message that shows it. Nothing here asks the agent or the user anything.
"""
