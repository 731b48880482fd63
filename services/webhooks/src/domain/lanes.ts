/** How many deliveries to one endpoint are on their way at once; the rest waits in the database. */
export const laneWidth = 16;
/** For one whose latest attempts failed: it may hang, and then each of them holds its place for as long as an attempt may take. */
export const narrowLaneWidth = 4;
/**
 * How many deliveries of one organization are on their way at once: a quarter of what one dispatcher has places for. Beyond it each of the
 * organization's endpoints keeps one, so that its hanging endpoints do not stop its others.
 */
export const organizationWidth = 128;
