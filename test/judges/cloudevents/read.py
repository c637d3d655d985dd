"""Reads each delivery with the CloudEvents SDK, and prints a line for each that is not the event that was sent."""
import json
import sys
from datetime import datetime

from cloudevents.core.bindings.http import HTTPMessage, from_http_event

for delivery in json.load(open(sys.argv[1])):
    expected = delivery["expected"]
    try:
        event = from_http_event(HTTPMessage(delivery["headers"], delivery["body"].encode()))
        data = event.get_data()
        found = {
            "event_id": event.get_id(),
            "type": event.get_type(),
            "source": event.get_source(),
            "time": event.get_time(),
            "data": json.loads(data) if isinstance(data, (str, bytes)) else data,
        }
        wanted = {
            "event_id": expected["event_id"],
            "type": expected["type"],
            "source": f"urn:uuid:{expected['tenant_id']}",
            "time": datetime.fromisoformat(expected["occurred_at"].replace("Z", "+00:00")),
            "data": expected["data"],
        }
        if found != wanted:
            print(f"Python: {found} instead of {wanted}")
    except Exception as error:
        print(f"Python: {expected['type']}: {error!r}")
