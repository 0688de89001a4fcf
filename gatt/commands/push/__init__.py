"""An adapter, samples or a report laid out as a repository of the hub, and sent there."""
