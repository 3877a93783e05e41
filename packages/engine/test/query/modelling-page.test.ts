/** docs/modelling.md: its examples are run in order, on an empty database, and reply what it says. */
import { expect } from 'vitest'
import { examplesOf, untrueExamples } from './page-examples.ts'
import { queryTest } from './query-database.ts'

queryTest('the page on modelling says what is so', [], async (db) => {
  const all = examplesOf('modelling.md')
  expect(all.length).toBe(3)
  expect(await untrueExamples(db, all)).toEqual([])
})
