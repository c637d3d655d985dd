// The process of the floor of two statements a delivery.
import { openDeliveryFloor } from './delivery-floor.mjs';

const [url, receiverPort] = process.argv.slice(2);
(await openDeliveryFloor({ url, receiverPort })).listen();
