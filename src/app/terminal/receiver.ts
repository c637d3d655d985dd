// The one place where the command line takes the code that receivers use.
export { REFUSALS, type Refusal, type Verification, verifyDelivery } from '../../sdk/receiver.ts';
