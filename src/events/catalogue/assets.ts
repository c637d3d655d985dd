// Event types of vaults, wallets and chains, which the tenant's systems publish.
import { z } from 'zod';
import { inCategory, published } from './event-type.ts';
import { EXAMPLE, shown, text } from './fields.ts';

const credential = {
  credential_id: text('The credential.', 'cred-31'),
  vault_id: text('The vault.', 'vault-2'),
};
const grant = text('The grant.', 'g-8');

/** An agent of the tenant's systems, which need not know it by a UUID. */
const agent = (description: string) => text(description, EXAMPLE.agentId);

const transaction = {
  tx_id: text('The transaction.', 'tx-9001'),
  wallet_id: text('The wallet.', 'w-5'),
  agent_id: agent('The agent that asked for it.'),
  chain: text('CAIP-2 name of the chain.', 'eip155:1'),
  to: text('Address of the recipient.', '0x52908400098527886E0F7030069857D2E4169EE7'),
  amount: text('Decimal number, as text: numbers in JSON lose digits.', '12.50'),
  asset: text('What the amount counts.', 'USDC'),
};

const token = {
  chain: text('CAIP-2 name of the chain.', 'eip155:1'),
  contract: text('Address.', '0x8617E340B3D01FA5F11F306F4090FD50E238070D'),
  token_id: text('The token.', '4711'),
};

export const VAULT = inCategory('Vault', [
  published('vault.credential.created', 'A credential was stored.', {
    ...credential,
    kind: text('`password`, `api_key` …', 'api_key'),
    created_by: text('Who stored it.', 'user-1'),
  }),
  published('vault.grant.revoked', 'A grant was revoked.', {
    ...credential,
    grant_id: grant,
    agent_id: agent('The agent that had it.'),
    reason: text('Why.', 'no longer needed'),
  }),
  published('vault.credential.accessed', 'A credential was read.', {
    ...credential,
    grant_id: grant,
    agent_id: agent('Who read it.'),
    purpose: text('What for.', 'invoice download'),
  }),
]);

export const WALLET = inCategory('Wallet', [
  published('wallet.tx.signed', 'A transaction was signed.', {
    ...transaction,
    tx_hash: text('Hash of the signed transaction.', `0x${EXAMPLE.fingerprint}`),
  }),
  published('wallet.tx.rejected', 'A transaction was rejected.', {
    ...transaction,
    reason: text('Why, such as `recipient_not_allowed`.', 'recipient_not_allowed'),
  }),
  published('wallet.budget.exceeded', 'A spending budget was exceeded.', {
    wallet_id: text('The wallet.', 'w-5'),
    agent_id: agent('The agent.'),
    budget: text('Decimal number, as text.', '100.00'),
    spent: text('Decimal number, as text.', '112.50'),
    asset: text('What both count.', 'USDC'),
    period: text('`day`, `week` or `month`.', 'day'),
  }),
]);

export const CHAIN = inCategory('Chain', [
  published('chain.ownership.changed', 'An owner changed.', {
    ...token,
    from: text('Owner before.', '0x52908400098527886E0F7030069857D2E4169EE7'),
    to: text('Owner from now on.', '0xde709f2102306220921060314715629080e2fb77'),
    block: shown(z.int().describe('Block number.'), 19_000_000),
  }),
  published('chain.reputation.updated', 'A reputation was updated.', {
    ...token,
    agent_id: agent('The agent.'),
    score: shown(z.number().describe('From 0 to 100.'), 87.5),
  }),
  published('chain.metadata.changed', 'Metadata changed.', {
    ...token,
    uri: text('Where the metadata is.', 'ipfs://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi'),
  }),
]);
