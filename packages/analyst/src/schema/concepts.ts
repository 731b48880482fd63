/** What is done with the numbers of rows. */
export type Operation = 'count' | 'sum' | 'avg' | 'median' | 'min' | 'max';
