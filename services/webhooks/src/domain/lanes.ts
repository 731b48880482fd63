/** How many deliveries to one endpoint are on their way at once; the rest waits in the database. */
export const laneWidth = 16;
/** For one whose latest attempts failed: it may hang, and then each of them holds its place for as long as an attempt may take. */
export const narrowLaneWidth = 4;
