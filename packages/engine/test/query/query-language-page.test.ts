/** docs/query-language.md: its examples are run in order, on an empty database, and reply what it says. */
import { expect } from 'vitest'
import { examplesOf, untrueExamples } from './page-examples.ts'
import { queryTest } from './query-database.ts'

queryTest('the page of the language says what is so', [], async (db) => {
  const all = examplesOf('query-language.md')
  expect(all.length).toBeGreaterThan(15)
  expect(await untrueExamples(db, all)).toEqual([])
})
