// Event types of vaults, wallets and chains, which the tenant's systems publish.
import { z } from 'zod';
import { inCategory, published } from './event-type.ts';
import { EXAMPLE, text } from './fields.ts';

const credential = { credential_id: text('The credential.'), vault_id: text('The vault.') };
const CREDENTIAL = { credential_id: 'cred-31', vault_id: 'vault-2' };

const transaction = {
  tx_id: text('The transaction.'),
  wallet_id: text('The wallet.'),
  agent_id: text('The agent that asked for it.'),
  chain: text('CAIP-2 name of the chain.'),
  to: text('Address of the recipient.'),
  amount: text('Decimal number, as text: numbers in JSON lose digits.'),
  asset: text('What the amount counts.'),
};
const TRANSACTION = {
  tx_id: 'tx-9001',
  wallet_id: 'w-5',
  agent_id: EXAMPLE.agentId,
  chain: 'eip155:1',
  to: '0x52908400098527886E0F7030069857D2E4169EE7',
  amount: '12.50',
  asset: 'USDC',
};

const token = {
  chain: text('CAIP-2 name of the chain.'),
  contract: text('Address.'),
  token_id: text('The token.'),
};
const TOKEN = { chain: 'eip155:1', contract: '0x8617E340B3D01FA5F11F306F4090FD50E238070D', token_id: '4711' };

export const VAULT = inCategory('Vault', [
  published(
    'vault.credential.created',
    'A credential was stored.',
    { ...credential, kind: text('`password`, `api_key` …'), created_by: text('Who stored it.') },
    { ...CREDENTIAL, kind: 'api_key', created_by: 'user-1' },
  ),
  published(
    'vault.grant.revoked',
    'A grant was revoked.',
    {
      ...credential,
      grant_id: text('The grant.'),
      agent_id: text('The agent that had it.'),
      reason: text('Why.'),
    },
    { ...CREDENTIAL, grant_id: 'g-8', agent_id: EXAMPLE.agentId, reason: 'no longer needed' },
  ),
  published(
    'vault.credential.accessed',
    'A credential was read.',
    {
      ...credential,
      grant_id: text('The grant.'),
      agent_id: text('Who read it.'),
      purpose: text('What for.'),
    },
    { ...CREDENTIAL, grant_id: 'g-8', agent_id: EXAMPLE.agentId, purpose: 'invoice download' },
  ),
]);

export const WALLET = inCategory('Wallet', [
  published(
    'wallet.tx.signed',
    'A transaction was signed.',
    { ...transaction, tx_hash: text('Hash of the signed transaction.') },
    { ...TRANSACTION, tx_hash: `0x${EXAMPLE.fingerprint}` },
  ),
  published(
    'wallet.tx.rejected',
    'A transaction was rejected.',
    { ...transaction, reason: text('Why, such as `recipient_not_allowed`.') },
    { ...TRANSACTION, reason: 'recipient_not_allowed' },
  ),
  published(
    'wallet.budget.exceeded',
    'A spending budget was exceeded.',
    {
      wallet_id: text('The wallet.'),
      agent_id: text('The agent.'),
      budget: text('Decimal number, as text.'),
      spent: text('Decimal number, as text.'),
      asset: text('What both count.'),
      period: text('`day`, `week` or `month`.'),
    },
    {
      wallet_id: 'w-5',
      agent_id: EXAMPLE.agentId,
      budget: '100.00',
      spent: '112.50',
      asset: 'USDC',
      period: 'day',
    },
  ),
]);

export const CHAIN = inCategory('Chain', [
  published(
    'chain.ownership.changed',
    'An owner changed.',
    {
      ...token,
      from: text('Owner before.'),
      to: text('Owner from now on.'),
      block: z.int().describe('Block number.'),
    },
    {
      ...TOKEN,
      from: '0x52908400098527886E0F7030069857D2E4169EE7',
      to: '0xde709f2102306220921060314715629080e2fb77',
      block: 19_000_000,
    },
  ),
  published(
    'chain.reputation.updated',
    'A reputation was updated.',
    { ...token, agent_id: text('The agent.'), score: z.number().describe('From 0 to 100.') },
    { ...TOKEN, agent_id: EXAMPLE.agentId, score: 87.5 },
  ),
  published(
    'chain.metadata.changed',
    'Metadata changed.',
    { ...token, uri: text('Where the metadata is.') },
    { ...TOKEN, uri: 'ipfs://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi' },
  ),
]);
