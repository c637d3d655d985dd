// jose judges the token of each delivery, by the keys that it fetches itself.
import { captureDeliveries } from '../standard-webhooks.mjs';

export const judge = {
  name: 'jose: createRemoteJWKSet, jwtVerify',
  version: 'jose 6.2.17',
  needs: [],
  run: async ({ say }) => (await captureDeliveries(say)).tokens,
};
