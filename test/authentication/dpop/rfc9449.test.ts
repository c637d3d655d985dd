// The proofs that RFC 9449 prints: sections 4.1 (a token request) and 7.1 (a protected resource).
import { describe, expect, it } from 'vitest';
import { ProofVerifier } from '../../../src/authentication/dpop/dpop-proof.service.ts';
import { checkProof, hashAccessToken, parseProof } from '../../../src/authentication/dpop/dpop-proof.ts';

const HEADER =
  'eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7Imt0eSI6IkVDIiwieCI6Imw4dEZyaHgtMzR0VjNoUklDUkRZOXpDa0RscEJoRjQyVVFVZldW' +
  'QVdCRnMiLCJ5IjoiOVZFNGpmX09rX282NHpiVFRsY3VOSmFqSG10NnY5VERWclUwQ2R2R1JEQSIsImNydiI6IlAtMjU2In19';

const TOKEN_PROOF =
  `${HEADER}.eyJqdGkiOiItQndDM0VTYzZhY2MybFRjIiwiaHRtIjoiUE9TVCIsImh0dSI6Imh0dHBzOi8vc2VydmVyLmV4YW1wbGUuY29tL3Rva2VuIiwiaWF0Ijox` +
  'NTYyMjYyNjE2fQ.2-GxA6T8lP4vfrg8v-FdWP0A0zdrj8igiMLvqRMUvwnQg4PtFLbdLXiOSsX0x7NVY-FNyJK70nfbV37xRZT3Lg';

const RESOURCE_PROOF =
  `${HEADER}.eyJqdGkiOiJlMWozVl9iS2ljOC1MQUVCIiwiaHRtIjoiR0VUIiwiaHR1IjoiaHR0cHM6Ly9yZXNvdXJjZS5leGFtcGxlLm9yZy9wcm90ZWN0ZWRyZXNv` +
  'dXJjZSIsImlhdCI6MTU2MjI2MjYxOCwiYXRoIjoiZlVIeU8ycjJaM0RaNTNFc05yV0JiMHhXWG9hTnk1OUlpS0NBcWtzbVFFbyJ9.2oW9RP35yRqzhrtNP86L-Ey71' +
  'EOptxRimPPToA1plemAgR6pxHF8y6-yqyVnmcw6Fy1dqd-jfxSYoMxhAJpLjA';

const ACCESS_TOKEN = 'Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU';
const THUMBPRINT = '0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I';

describe('the examples of RFC 9449', () => {
  const verifier = new ProofVerifier();

  it('hold a proof for a token request', () => {
    const proof = parseProof(TOKEN_PROOF);
    expect(proof.claims).toEqual({
      jti: '-BwC3ESc6acc2lTc',
      htm: 'POST',
      htu: 'https://server.example.com/token',
      iat: 1562262616,
    });
    expect(proof.key.thumbprint).toBe(THUMBPRINT);
    verifier.verify(proof);
    const request = { method: 'POST', url: 'https://server.example.com/token', now: 1562262616_000 };
    checkProof(proof, request);
    expect(() => checkProof(proof, { ...request, now: request.now + 61_000 })).toThrow(/too old/);
  });

  it('hold a proof for a protected resource, with the hash of the access token', () => {
    const proof = parseProof(RESOURCE_PROOF);
    expect(hashAccessToken(ACCESS_TOKEN)).toBe('fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo');
    verifier.verify(proof);
    const request = {
      method: 'GET',
      url: 'https://resource.example.org/protectedresource',
      now: 1562262618_000,
    };
    checkProof(proof, { ...request, accessToken: { text: ACCESS_TOKEN, jkt: THUMBPRINT } });
    const other = { text: `${ACCESS_TOKEN}.`, jkt: THUMBPRINT };
    expect(() => checkProof(proof, { ...request, accessToken: other })).toThrow(/ath/);
  });
});
