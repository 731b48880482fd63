import type { DataSourcesDeps } from '../sources.ts';
import { connectDataSource, getDataSource, listDataSources, removeDataSource, testDataSource } from './data-sources.ts';
import { describeDataSource } from './describe.ts';
import { authorizeStep, finishStep } from './steps.ts';

export const dataSourceMethods = (deps: DataSourcesDeps) => ({
  authorizeStep: authorizeStep(deps),
  connectDataSource: connectDataSource(deps),
  describeDataSource: describeDataSource(deps),
  finishStep: finishStep(deps),
  getDataSource: getDataSource(deps),
  listDataSources: listDataSources(deps),
  removeDataSource: removeDataSource(deps),
  testDataSource: testDataSource(deps),
});
