const defaultLimit = 20;
const maxLimit = 100;

export const limitOf = (page: { limit: number } | null): number => Math.min(page?.limit || defaultLimit, maxLimit);

/** The last row of a page. Lists select one row more than the page has, which shows that there is another page. */
export const lastOf = <Row>(rows: readonly Row[], limit: number): Row | undefined => (rows.length > limit ? rows[limit - 1] : undefined);
