"""Questions about a lake that take more than its metrics: what is complete, what differs, why."""
