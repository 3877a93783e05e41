/** docs/cookbook.md: twenty questions about flights, each of which is one statement, reply what the page says. */
import { expect } from 'vitest'
import { parse } from '../../src/query/parse/parse.ts'
import { examplesOf, untrueExamples } from './page-examples.ts'
import { queryTest } from './query-database.ts'

queryTest('twenty questions are asked in one statement each', [], async (db) => {
  const all = examplesOf('cookbook.md')
  const questions = all.filter(({ reply }) => reply !== undefined)
  expect(questions).toHaveLength(20)
  for (const { text } of questions) expect({ text, statements: parse(text).length }).toEqual({ text, statements: 1 })
  expect(await untrueExamples(db, all)).toEqual([])
})
