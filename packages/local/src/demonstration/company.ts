import * as names from './names.ts';
import type { TableName } from './schema.ts';
import { cents, cyclic, type Day, daysBetween, emailName, euros, plusDays, type Random, type Row, randomFrom, weekday } from './values.ts';

type Company = Readonly<Record<TableName, readonly Row[]>>;

const seed = 20_260_101;

/** A small trader in office furniture: the same company every time, with its last two years ending today. */
export function companyOn(today: Day): Company {
  const random = randomFrom(seed);
  const suppliers = makeSuppliers(random);
  const products = makeProducts(random, suppliers.length);
  const customers = makeCustomers(random, today);
  const employees = makeEmployees(random, today);
  const sales = makeSales(random, today, { products, customers, employees });
  return {
    suppliers,
    products,
    customers,
    employees,
    leave_requests: makeLeaveRequests(random, today, employees),
    ...sales,
    inventory: makeInventory(random, today, products),
    purchase_orders: makePurchaseOrders(random, today, products, suppliers),
  };
}

const historyDays = 730;

function makeSuppliers(random: Random): Row[] {
  return names.supplierNames.map((name, index) => ({
    id: index + 1,
    name,
    country: random.pick(names.cities)[0],
    lead_time_days: random.between(5, 45),
    rating: (random.between(25, 50) / 10).toFixed(1),
    contact_email: `orders@${emailName(name)}.example`,
  }));
}

function makeProducts(random: Random, suppliers: number): Row[] {
  return names.productKinds.flatMap(([category, kind, least, most], kindIndex) =>
    names.productLines.map((line, index) => {
      const price = random.between(least / 100, most / 100) * 100 - 10;
      return {
        id: kindIndex * names.productLines.length + index + 1,
        sku: `${category.slice(0, 2).toUpperCase()}-${String(index + 1).padStart(3, '0')}`,
        name: `${line} ${kind}`,
        category,
        supplier_id: random.between(1, suppliers),
        unit_price: euros(price),
        unit_cost: euros(Math.round((price * random.between(45, 70)) / 100)),
        discontinued: random.chance(6),
      };
    }),
  );
}

function makeInventory(random: Random, today: Day, products: readonly Row[]): Row[] {
  const stocks = products.flatMap((product) =>
    names.warehouses.filter((_, index) => index === 0 || random.chance(60)).map((warehouse) => ({ product, warehouse })),
  );
  return stocks.map(({ product, warehouse }, index) => {
    const reorder = random.pick([5, 10, 20, 40]);
    return {
      id: index + 1,
      product_id: product['id'] as number,
      warehouse,
      quantity_on_hand: random.chance(5) ? 0 : random.chance(18) ? random.between(1, reorder) : random.between(reorder + 1, reorder * 8),
      reorder_level: reorder,
      last_counted_on: plusDays(today, -random.between(0, 120)),
    };
  });
}

function makePurchaseOrders(random: Random, today: Day, products: readonly Row[], suppliers: readonly Row[]): Row[] {
  return Array.from({ length: 320 }, (_, index) => {
    const product = cyclic(products, random.below(products.length));
    const lead = Number(cyclic(suppliers, (product['supplier_id'] as number) - 1)['lead_time_days']);
    const ordered = plusDays(today, -Math.floor((historyDays * (319 - index)) / 320));
    const expected = plusDays(ordered, lead);
    const arrival = plusDays(expected, random.pick([-4, -1, 0, 5, 25, 75], [2, 4, 5, 4, 3, 2]));
    const quantity = random.pick([10, 20, 50, 100]);
    const received = arrival <= today;
    const cancelled = random.chance(3);
    return {
      id: index + 1,
      supplier_id: product['supplier_id'] as number,
      product_id: product['id'] as number,
      ordered_on: ordered,
      expected_on: expected,
      received_on: received && !cancelled ? arrival : null,
      quantity,
      unit_cost: product['unit_cost'] as string,
      total: euros(cents(product, 'unit_cost') * quantity),
      status: cancelled ? 'cancelled' : received ? 'received' : expected < today ? 'late' : 'open',
    };
  });
}

function makeCustomers(random: Random, today: Day): Row[] {
  return names.companyEndings.flatMap((ending, endingIndex) =>
    names.companyBeginnings.map((beginning, index) => {
      const [country, city] = random.pick(names.cities);
      const segment = random.pick(['small business', 'mid-market', 'enterprise'], [5, 3, 2]);
      return {
        id: endingIndex * names.companyBeginnings.length + index + 1,
        name: `${beginning} ${ending}`,
        segment,
        country,
        city,
        email: `office@${emailName(`${beginning} ${ending}`)}.example`,
        status: random.chance(8) ? 'inactive' : 'active',
        credit_limit: euros({ 'small business': 500_000, 'mid-market': 2_500_000, enterprise: 10_000_000 }[segment] as number),
        created_on: plusDays(today, -random.between(20, 1_500)),
      };
    }),
  );
}

function makeEmployees(random: Random, today: Day): Row[] {
  const employees: Row[] = [];
  for (const department of names.departments) {
    const leader = employees.length + 1;
    for (let index = 0; index < department[1]; index += 1)
      employees.push({
        ...makeEmployee(random, today, employees.length + 1, department[2], index),
        department: department[0],
        manager_id: managerOf(employees.length + 1, leader),
      });
  }
  return employees;
}

/** Heads of departments report to the first employee, who reports to no one. */
function managerOf(id: number, leader: number): number | null {
  if (id === 1) return null;
  return id === leader ? 1 : leader;
}

function makeEmployee(random: Random, today: Day, id: number, titles: readonly string[], index: number): Row {
  const leads = index === 0;
  const name = `${cyclic(names.firstNames, id * 7)} ${cyclic(names.lastNames, id * 3 + Math.floor(id / 20))}`;
  const hired = plusDays(today, -random.between(40, 3_600));
  const left = !leads && random.chance(10) ? plusDays(hired, Math.floor(daysBetween(hired, today) * 0.8)) : null;
  return {
    id,
    name,
    job_title: leads ? (titles[0] as string) : random.pick(titles.slice(1)),
    email: `${emailName(name)}.${id}@company.example`,
    hired_on: hired,
    left_on: left,
    status: left === null ? 'active' : 'left',
    salary: euros((leads ? random.between(72, 118) : random.between(34, 66)) * 100_000),
  };
}

function makeLeaveRequests(random: Random, today: Day, employees: readonly Row[]): Row[] {
  return Array.from({ length: 240 }, (_, index) => {
    const start = plusDays(today, random.between(-420, 75));
    const end = plusDays(start, random.pick([0, 1, 4, 6, 11, 13], [4, 3, 5, 2, 2, 1]));
    const requested = plusDays(start < today ? start : today, -random.between(1, 40));
    return {
      id: index + 1,
      employee_id: cyclic(employees, random.below(employees.length))['id'] as number,
      kind: random.pick(['vacation', 'sick', 'parental', 'unpaid'], [12, 5, 1, 1]),
      start_date: start,
      end_date: end,
      days: workingDays(start, end),
      status: start > today ? random.pick(['pending', 'approved', 'rejected'], [5, 4, 1]) : random.pick(['approved', 'rejected'], [9, 1]),
      requested_on: requested,
    };
  });
}

function workingDays(from: Day, to: Day): number {
  let count = 0;
  for (let day = from; day <= to; day = plusDays(day, 1)) count += weekday(day) <= 5 ? 1 : 0;
  return Math.max(1, count);
}

const orderCount = 1_500;

interface Traders {
  readonly products: readonly Row[];
  readonly customers: readonly Row[];
  readonly employees: readonly Row[];
}

type Sales = Readonly<Record<'orders' | 'order_items' | 'invoices' | 'payments', readonly Row[]>>;

/** Orders with their lines, their invoices and payments. The newest are of today, so that no month is empty on its first day. */
function makeSales(random: Random, today: Day, { products, customers, employees }: Traders): Sales {
  const sales = { orders: [] as Row[], order_items: [] as Row[], invoices: [] as Row[], payments: [] as Row[] };
  const sellers = employees.filter(({ department }) => department === 'Sales');
  for (let id = 1; id <= orderCount; id += 1) {
    // More orders lately, as business grows.
    const age = Math.floor(historyDays * (1 - Math.sqrt(id / orderCount)));
    const order_date = plusDays(today, -age);
    const lines = makeLines(random, id, sales.order_items.length, products);
    sales.order_items.push(...lines);
    const total = lines.reduce((sum, line) => sum + cents(line, 'line_total'), 0);
    const status = statusOfOrder(random, age);
    sales.orders.push({
      id,
      customer_id: pickFavoured(random, customers.length),
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
const pickFavoured = (random: Random, customers: number) => 1 + Math.min(random.below(customers), random.below(customers));

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
