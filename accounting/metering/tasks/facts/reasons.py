"""Why an hour is dirty."""

FACTS = "facts"  # the reason of an hour whose facts were replaced
