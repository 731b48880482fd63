import { cents, cyclic, type Day, euros, plusDays, type Random, type Row } from './values.ts';

const historyDays = 730;
const orderCount = 1_500;

interface Sellers {
  readonly products: readonly Row[];
  readonly customers: readonly Row[];
  readonly employees: readonly Row[];
}

type Sales = Readonly<Record<'orders' | 'order_items' | 'invoices' | 'payments', readonly Row[]>>;

/** Orders with their lines, and what follows of them. The newest are of today, so that no month is empty on its first day. */
export function makeSales(random: Random, today: Day, { products, customers, employees }: Sellers): Sales {
  const sales = { orders: [] as Row[], order_items: [] as Row[], invoices: [] as Row[], payments: [] as Row[] };
  const sellers = employees.filter(({ department }) => department === 'Sales');
  for (let id = 1; id <= orderCount; id += 1) {
    // More of them lately: business grows.
    const age = Math.floor(historyDays * (1 - Math.sqrt(id / orderCount)));
    const order_date = plusDays(today, -age);
    const lines = makeLines(random, id, sales.order_items.length, products);
    sales.order_items.push(...lines);
    const total = lines.reduce((sum, line) => sum + cents(line, 'line_total'), 0);
    const status = statusOfOrder(random, age);
    sales.orders.push({
      id,
      customer_id: favoured(random, customers.length),
      employee_id: cyclic(sellers, random.below(sellers.length))['id'] as number,
      order_date,
      status,
      channel: random.pick(['web', 'phone', 'partner'], [5, 3, 2]),
      shipped_on: status === 'shipped' || status === 'delivered' ? plusDays(order_date, Math.min(age, random.between(1, 6))) : null,
      total: euros(total),
    });
    if (status === 'shipped' || status === 'delivered') invoiceFor(random, today, sales, total);
  }
  return sales;
}

/** Some customers buy much more than others. */
const favoured = (random: Random, customers: number) => 1 + Math.min(random.below(customers), random.below(customers));

function makeLines(random: Random, order: number, before: number, products: readonly Row[]): Row[] {
  return Array.from({ length: random.pick([1, 2, 3, 4, 6], [4, 5, 4, 2, 1]) }, (_, index) => {
    const product = cyclic(products, random.below(products.length));
    const quantity = random.pick([1, 2, 4, 5, 10, 25], [5, 5, 3, 3, 2, 1]);
    const discount = random.pick([0, 5, 10, 15], [12, 3, 2, 1]);
    return {
      id: before + index + 1,
      order_id: order,
      product_id: product['id'] as number,
      quantity,
      unit_price: product['unit_price'] as string,
      discount_percent: discount,
      line_total: euros(Math.round((cents(product, 'unit_price') * quantity * (100 - discount)) / 100)),
    };
  });
}

function statusOfOrder(random: Random, age: number): string {
  if (random.chance(4)) return 'cancelled';
  if (age <= 2) return 'pending';
  if (age <= 9) return random.pick(['pending', 'shipped', 'delivered'], [2, 5, 2]);
  return random.chance(3) ? 'shipped' : 'delivered';
}

function invoiceFor(random: Random, today: Day, sales: { orders: Row[]; invoices: Row[]; payments: Row[] }, total: number): void {
  const order = sales.orders.at(-1) as Row;
  const issued = order['shipped_on'] as Day;
  const due = plusDays(issued, random.pick([14, 30, 60], [2, 6, 1]));
  const paidOn = plusDays(due, random.pick([-10, -3, 0, 4, 12, 35, 90], [3, 5, 5, 3, 3, 2, 1]));
  const day = paidOn < issued ? issued : paidOn;
  const never = random.chance(2);
  const paid = !never && day <= today;
  const part = paid && random.chance(4) ? Math.round(total / 2) : total;
  const id = sales.invoices.length + 1;
  sales.invoices.push({
    id,
    invoice_number: `INV-${String(id).padStart(5, '0')}`,
    order_id: order['id'] as number,
    customer_id: order['customer_id'] as number,
    issued_on: issued,
    due_on: due,
    amount: euros(total),
    amount_paid: euros(paid ? part : 0),
    status: paid && part === total ? 'paid' : due < today ? 'overdue' : 'open',
  });
  if (!paid) return;
  const method = random.pick(['bank transfer', 'card', 'direct debit'], [6, 2, 2]);
  sales.payments.push({ id: sales.payments.length + 1, invoice_id: id, paid_on: day, amount: euros(part), method });
}
