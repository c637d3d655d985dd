// What an agent signs, by the service's own public function.
export { buildPayloadOfResponse } from '../dist/src/authentication/challenges/payload.js';
