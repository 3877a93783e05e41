/** Tests that a rule without a test, a test without a rule, and a number specified twice are found. */
import { describe, expect, it } from 'vitest'
import { checkContract } from '../check-contract.ts'

const test = 'packages/server/test/contract/index.test.ts'

function check(contract: string, tests: string): { messages: string[]; summary: string } {
  const { findings, summary } = checkContract(
    new Map([
      ['docs/contract.md', contract],
      [test, tests],
    ]),
  )
  return { messages: findings.map(({ file, line, message }) => `${file}:${line} ${message}`), summary }
}

const two = '# Contract\n\n- **4.1.1** An index has a name.\n- **4.1.2** The name is unique.\n'

describe('contract coverage', () => {
  it('is content when each rule is named, one or several at once', () => {
    expect(check(two, `rule('4.1.1', 'x', () => {})\nrule('4.1.2', 'y', () => {})`).messages).toEqual([])
    expect(check(two, `rule(['4.1.1', '4.1.2'], 'x', () => {})`).messages).toEqual([])
  })

  it('finds a rule without a test, and does not take a comment for one', () => {
    expect(check(two, `rule('4.1.1', 'x', () => {})\n// rule('4.1.2', 'y')`).messages).toEqual([
      'docs/contract.md:4 no test names rule 4.1.2',
    ])
  })

  it('finds a test without a rule, and one whose number cannot be read', () => {
    const tests = `rule(['4.1.1', '4.1.2', '9.9'], 'x', () => {})\nrule(id, 'y', () => {})`
    expect(check(two, tests).messages).toEqual([
      `${test}:2 rule() takes its numbers as literals`,
      `${test}:1 there is no rule 9.9 in docs/contract.md`,
    ])
  })

  it('finds a number specified twice, and one that is none', () => {
    const tests = `rule(['4.1.1', '4.1.2'], 'x', () => {})`
    expect(check(`${two}- **4.1.1** Again.\n`, tests).messages).toEqual([
      'docs/contract.md:5 rule 4.1.1 is there twice',
    ])
    expect(check(`${two}- **4b** Odd. *(planned)*\n`, tests).messages).toEqual([
      'docs/contract.md:5 4b is no rule number',
    ])
  })

  it('lets a planned rule wait for its test, over several lines, and no longer than that', () => {
    const planned = '- **5.1** A query\n  gives rows. *(planned)*\n- **5.2** Other.\n'
    expect(check(planned, `rule('5.2', 'x', () => {})`).messages).toEqual([])
    expect(check(planned, `rule(['5.1', '5.2'], 'x', () => {})`).messages).toEqual([
      'docs/contract.md:1 rule 5.1 is tested: it is no longer planned',
    ])
  })

  it('prints the matrix by chapter', () => {
    const { summary } = check(`${two}- **5.1** Later. *(planned)*\n`, `rule('4.1.1', 'x', () => {})`)
    expect(summary).toBe('rules tested, by chapter  4: 1/2  5: 0/1 (1 planned)')
  })
})
