export type Place = 'pool' | 'user' | 'holds' | 'spent' | 'outside';
export type TransferCode = 'purchase' | 'replenish' | 'fill' | 'return' | 'hold' | 'release' | 'charge';

export interface Route {
  readonly from: Place;
  readonly to: Place;
}

/** Every movement there is. A transfer touches at most one user, whose balance is `user` and whose open holds are `holds`. */
export const ROUTES: { readonly [C in TransferCode]: Route } = {
  purchase: { from: 'outside', to: 'pool' },
  replenish: { from: 'outside', to: 'pool' },
  fill: { from: 'pool', to: 'user' },
  return: { from: 'user', to: 'pool' },
  hold: { from: 'user', to: 'holds' },
  release: { from: 'holds', to: 'user' },
  charge: { from: 'holds', to: 'spent' },
};

export interface Transfer {
  /** `<kind>:<id of the operation>:<code>`: unique in the tenant, since an operation takes a route at most once. */
  id: string;
  code: TransferCode;
  from: Place;
  to: Place;
  /** Set where either end is a user's account. */
  userId: string | null;
  amount: number;
  at: number;
}
