import { creditsHot } from '/work/main/bench/src/scenarios/credits-hot.ts';

console.log(JSON.stringify(await creditsHot.run((l) => console.log(l)), null, 1));
