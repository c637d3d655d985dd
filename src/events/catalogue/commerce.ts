// Event types of commerce, which the tenant's systems publish. Source: Specification, "Event types" (commerce
// lifecycle).
import { inCategory, published } from './event-type.ts';
import { moment, text } from './fields.ts';

const money = {
  amount: text('Decimal number, as text: numbers in JSON lose digits.', '12.50'),
  currency: text('ISO 4217 code.', 'EUR'),
};

const payment = {
  payment_id: text('The payment.', 'pay-501'),
  order_id: text('What is paid.', 'o-1001'),
  ...money,
};

const settlement = {
  settlement_id: text('The settlement.', 'set-88'),
  payment_id: text('The charge.', 'pay-501'),
  ...money,
};

const dispute = {
  dispute_id: text('The dispute.', 'dis-4'),
  payment_id: text('The disputed payment.', 'pay-501'),
  ...money,
};

const payout = {
  payout_id: text('The payout.', 'po-19'),
  destination: text('Where it goes.', 'bank-account-2'),
  ...money,
};

export const COMMERCE = inCategory('Commerce', [
  published('commerce.payment.pending', 'A buyer payment is created but not confirmed.', {
    ...payment,
    expires_at: moment('Until then it can be confirmed.'),
  }),
  published('commerce.payment.succeeded', 'Payment succeeded.', { ...payment, paid_at: moment('When.') }),
  published('commerce.payment.failed', 'Checkout did not complete.', {
    ...payment,
    reason: text('Why.', 'card_declined'),
  }),
  published('commerce.payment.refunded', 'Payment refunded.', {
    ...payment,
    refund_id: text('The refund.', 'ref-3'),
    reason: text('Why.', 'returned'),
  }),
  published(
    'commerce.settlement.created',
    'Settlement accounting starts for a successful charge.',
    settlement,
  ),
  published('commerce.settlement.held', 'Funds are in the hold/finality window.', {
    ...settlement,
    held_until: moment('End of the window.'),
  }),
  published('commerce.settlement.released', 'Funds available for payout accounting.', {
    ...settlement,
    released_at: moment('When.'),
  }),
  published('commerce.dispute.opened', 'A dispute opened.', {
    ...dispute,
    reason: text('Why.', 'not_received'),
    respond_by: moment('Until then evidence can be sent.'),
  }),
  published('commerce.dispute.closed', 'A dispute closed.', {
    ...dispute,
    outcome: text('`won` or `lost`.', 'won'),
  }),
  published('commerce.payout.submitted', 'A tenant payout was submitted.', {
    ...payout,
    expected_at: moment('When it should arrive.'),
  }),
  published('commerce.payout.paid', 'A payout completed.', { ...payout, paid_at: moment('When.') }),
  published('commerce.payout.failed', 'A payout failed.', {
    ...payout,
    reason: text('Why.', 'account_closed'),
  }),
  published('commerce.statement.created', 'A settlement statement was generated.', {
    statement_id: text('The statement.', 'st-2026-04'),
    period_start: moment('First moment.', '2026-04-01T00:00:00.000Z'),
    period_end: moment('First moment after it.', '2026-05-01T00:00:00.000Z'),
    ...money,
  }),
]);
