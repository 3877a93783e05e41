/** Tests that words given up for a term of the field are found in names and comments of the packages, and nowhere else. */
import { describe, expect, it } from 'vitest'
import { checkWords } from '../check-words.ts'

const words = [
  { words: 'expectation', use: 'precondition', except: /^packages\/server\// },
  { words: 'text run', use: 'script executor' },
]

function found(text: string, path = 'packages/engine/src/a.ts'): string[] {
  return checkWords(new Map([[path, text]]), words).findings.map(({ line, message }) => `${line}: ${message}`)
}

describe('words that were abandoned', () => {
  it('are refused in names, whatever their case and what stands beside them', () => {
    const refused = 'says "expectation": the term is precondition'
    expect(found('export interface Expectation {}')).toEqual([`1: Expectation ${refused}`])
    expect(found('\nexport const failedExpectations = []')).toEqual([`2: failedExpectations ${refused}`])
    expect(found('class A {\n  #expectation = 1\n}')).toEqual([`2: expectation ${refused}`])
    expect(found('const newTextRun = 1')).toEqual(['1: newTextRun says "text run": the term is script executor'])
  })

  it('are refused in comments, in the line where they stand, also in the plural', () => {
    const refused = 'a comment says "expectation": the term is precondition'
    expect(found('/**\n * One.\n * Its expectations.\n */\nlet a = 1')).toEqual([`3: ${refused}`])
    expect(found('let a = 1 // the expectation, once')).toEqual([`1: ${refused}`])
  })

  it('are reported once a line', () => {
    expect(found('let expectation: Expectation')).toHaveLength(1)
  })

  it('may be part of other words, and stand in texts and in files that mean something else', () => {
    expect(found("const unexpected = 'expectation' // context running")).toEqual([])
    expect(found('const textRunner = 1')).toEqual([])
    expect(found('const expectation = 1', 'packages/server/src/http.ts')).toEqual([])
    expect(found('const expectation = 1', 'packages/engine/test/a.ts')).toEqual([])
    expect(found('const expectation = 1', 'docs/a.md')).toEqual([])
  })
})

describe('the list itself', () => {
  it('finds each of its words', () => {
    expect(
      checkWords(new Map([['packages/engine/src/a.ts', 'const boundLane = 1 // the stamp, a breath']])).findings,
    ).toHaveLength(2)
    expect(checkWords(new Map([['packages/engine/src/a.ts', 'const contentionQueue = 1']])).findings).toEqual([])
  })
})
