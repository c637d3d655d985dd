"""Errors that choose the answer to a delivery. A handler and a delivery log raise them."""


class RetryLater(Exception):
    """Postpones the delivery by `seconds`.

    The answer is 503 with `Retry-After`, and the service then holds all deliveries of the subscription. With
    `only_this_delivery` the answer is 500, and the others go on.
    """

    def __init__(self, seconds: int, *, only_this_delivery: bool = False) -> None:
        super().__init__(f"try again in {seconds} s")
        if not isinstance(seconds, int) or seconds < 0:
            raise ValueError("seconds must be a whole number")
        self.seconds = seconds
        self.only_this_delivery = only_this_delivery


class RejectDelivery(Exception):
    """The delivery can never be processed. The answer is 422, and the service gives it up."""
