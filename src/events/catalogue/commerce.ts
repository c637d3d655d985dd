// Event types of commerce, which the tenant's systems publish. Source: Specification, "Event types" (commerce
// lifecycle).
import { inCategory, published } from './event-type.ts';
import { EXAMPLE, moment, text } from './fields.ts';

const money = {
  amount: text('Decimal number, as text: numbers in JSON lose digits.'),
  currency: text('ISO 4217 code.'),
};
const MONEY = { amount: '12.50', currency: 'EUR' };

const payment = {
  payment_id: text('The payment.'),
  order_id: text('What is paid.'),
  ...money,
};
const PAYMENT = { payment_id: 'pay-501', order_id: 'o-1001', ...MONEY };

const settlement = { settlement_id: text('The settlement.'), payment_id: text('The charge.'), ...money };
const SETTLEMENT = { settlement_id: 'set-88', payment_id: 'pay-501', ...MONEY };

const dispute = { dispute_id: text('The dispute.'), payment_id: text('The disputed payment.'), ...money };
const DISPUTE = { dispute_id: 'dis-4', payment_id: 'pay-501', ...MONEY };

const payout = { payout_id: text('The payout.'), destination: text('Where it goes.'), ...money };
const PAYOUT = { payout_id: 'po-19', destination: 'bank-account-2', ...MONEY };

export const COMMERCE = inCategory('Commerce', [
  published(
    'commerce.payment.pending',
    'A buyer payment is created but not confirmed.',
    { ...payment, expires_at: moment('Until then it can be confirmed.') },
    { ...PAYMENT, expires_at: EXAMPLE.moment },
  ),
  published(
    'commerce.payment.succeeded',
    'Payment succeeded.',
    { ...payment, paid_at: moment('When.') },
    { ...PAYMENT, paid_at: EXAMPLE.moment },
  ),
  published(
    'commerce.payment.failed',
    'Checkout did not complete.',
    { ...payment, reason: text('Why.') },
    { ...PAYMENT, reason: 'card_declined' },
  ),
  published(
    'commerce.payment.refunded',
    'Payment refunded.',
    { ...payment, refund_id: text('The refund.'), reason: text('Why.') },
    { ...PAYMENT, refund_id: 'ref-3', reason: 'returned' },
  ),
  published(
    'commerce.settlement.created',
    'Settlement accounting starts for a successful charge.',
    settlement,
    SETTLEMENT,
  ),
  published(
    'commerce.settlement.held',
    'Funds are in the hold/finality window.',
    { ...settlement, held_until: moment('End of the window.') },
    { ...SETTLEMENT, held_until: EXAMPLE.moment },
  ),
  published(
    'commerce.settlement.released',
    'Funds available for payout accounting.',
    { ...settlement, released_at: moment('When.') },
    { ...SETTLEMENT, released_at: EXAMPLE.moment },
  ),
  published(
    'commerce.dispute.opened',
    'A dispute opened.',
    { ...dispute, reason: text('Why.'), respond_by: moment('Until then evidence can be sent.') },
    { ...DISPUTE, reason: 'not_received', respond_by: EXAMPLE.moment },
  ),
  published(
    'commerce.dispute.closed',
    'A dispute closed.',
    { ...dispute, outcome: text('`won` or `lost`.') },
    { ...DISPUTE, outcome: 'won' },
  ),
  published(
    'commerce.payout.submitted',
    'A tenant payout was submitted.',
    { ...payout, expected_at: moment('When it should arrive.') },
    { ...PAYOUT, expected_at: EXAMPLE.moment },
  ),
  published(
    'commerce.payout.paid',
    'A payout completed.',
    { ...payout, paid_at: moment('When.') },
    { ...PAYOUT, paid_at: EXAMPLE.moment },
  ),
  published(
    'commerce.payout.failed',
    'A payout failed.',
    { ...payout, reason: text('Why.') },
    { ...PAYOUT, reason: 'account_closed' },
  ),
  published(
    'commerce.statement.created',
    'A settlement statement was generated.',
    {
      statement_id: text('The statement.'),
      period_start: moment('First moment.'),
      period_end: moment('First moment after it.'),
      ...money,
    },
    {
      statement_id: 'st-2026-04',
      period_start: '2026-04-01T00:00:00.000Z',
      period_end: '2026-05-01T00:00:00.000Z',
      ...MONEY,
    },
  ),
]);
