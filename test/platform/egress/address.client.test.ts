// Holds whom the resolver asks for which names, with DNS and the system's resolver replaced.
import { describe, expect, it } from 'vitest';
import { createAddressLookup } from '../../../src/platform/egress/address.client.ts';

const failWith = (code: string) => async () => Promise.reject(Object.assign(new Error(code), { code }));

function lookupWith(v4: () => Promise<string[]>, v6: () => Promise<string[]>) {
  return createAddressLookup({
    resolver: { resolve4: v4, resolve6: v6 },
    lookupInSystem: async (hostname) => [`system:${hostname}`],
  });
}

describe('the address lookup', () => {
  it('gives all addresses of both families', async () => {
    const lookup = lookupWith(
      async () => ['192.0.2.1', '192.0.2.2'],
      async () => ['2001:db8::1'],
    );
    expect(await lookup('a.example')).toEqual(['192.0.2.1', '192.0.2.2', '2001:db8::1']);
  });

  it('is content with one family when the other fails', async () => {
    expect(await lookupWith(failWith('ESERVFAIL'), async () => ['2001:db8::1'])('a.example')).toEqual([
      '2001:db8::1',
    ]);
    expect(await lookupWith(async () => ['192.0.2.1'], failWith('ENODATA'))('a.example')).toEqual([
      '192.0.2.1',
    ]);
  });

  it('asks the system for names that DNS does not know, and for names without a dot', async () => {
    const unknown = lookupWith(failWith('ENOTFOUND'), failWith('ENODATA'));
    expect(await unknown('a.example')).toEqual(['system:a.example']);
    const never = lookupWith(failWith('EFAIL'), failWith('EFAIL'));
    expect(await never('localhost')).toEqual(['system:localhost']);
  });

  it('finds no internal name where names are not to tell what there is, also where DNS has it', async () => {
    const lookup = createAddressLookup({
      internalNames: false,
      resolver: { resolve4: async () => ['10.96.0.7'], resolve6: async () => [] },
    });
    for (const name of ['vault.prod.svc.cluster.local', 'db.internal', 'NAS.home.arpa.'])
      await expect(lookup(name)).rejects.toMatchObject({ code: 'ENOTFOUND' });
    expect(await lookup('local.example')).toEqual(['10.96.0.7']);
  });

  it('asks the system for localhost alone where names are not to tell what the internal network has', async () => {
    const asked: string[] = [];
    const unknown = createAddressLookup({
      internalNames: false,
      resolver: { resolve4: failWith('ENODATA'), resolve6: failWith('ENOTFOUND') },
      lookupInSystem: async (hostname) => {
        asked.push(hostname);
        return ['10.2.3.4'];
      },
    });
    for (const name of ['postgres.prod', 'postgres'])
      await expect(unknown(name)).rejects.toMatchObject({ code: 'ENOTFOUND' });
    expect(asked).toEqual([]);
    expect(await unknown('localhost')).toEqual(['10.2.3.4']);
  });

  it('does not ask the system when DNS is slow or broken', async () => {
    await expect(lookupWith(failWith('ETIMEOUT'), failWith('ENOTFOUND'))('a.example')).rejects.toMatchObject({
      code: 'ETIMEOUT',
    });
  });

  it('gives an IP literal as it is, without asking anybody', async () => {
    const never = lookupWith(failWith('EFAIL'), failWith('EFAIL'));
    expect(await never('127.0.0.1')).toEqual(['127.0.0.1']);
    expect(await never('::1')).toEqual(['::1']);
  });

  it('finds localhost in this system', async () => {
    expect(await createAddressLookup()('localhost')).toContain('127.0.0.1');
  });
});
