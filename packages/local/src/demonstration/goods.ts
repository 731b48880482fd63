import * as names from './names.ts';
import { cents, cyclic, type Day, emailName, euros, plusDays, type Random, type Row } from './values.ts';

const historyDays = 730;

export function makeSuppliers(random: Random): Row[] {
  return names.supplierNames.map((name, index) => ({
    id: index + 1,
    name,
    country: random.pick(names.cities)[0],
    lead_time_days: random.between(5, 45),
    rating: (random.between(25, 50) / 10).toFixed(1),
    contact_email: `orders@${emailName(name)}.example`,
  }));
}

export function makeProducts(random: Random, suppliers: number): Row[] {
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

export function makeInventory(random: Random, today: Day, products: readonly Row[]): Row[] {
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

export function makePurchaseOrders(random: Random, today: Day, products: readonly Row[], suppliers: readonly Row[]): Row[] {
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
