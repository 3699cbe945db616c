"""Models: adapters from `Request` to `Reply`, one per provider, and the wrappers around them."""
