/** Lines that are parsed as one text: they are what each of them is by itself, or are left to be parsed one by one. */
import { describe, expect, test } from 'vitest'
import { parseJson } from '../../src/json/parse-json.ts'
import { parseLines } from '../../src/json/parse-lines.ts'

const limits = { depthMax: 4, valuesMax: 60, valuesLimit: 'objectValuesMax' }

/** Objects, what is none, and halves of objects that are one with their neighbours. */
const lines = [
  '{}',
  '{"a":1,"b":[1.5,{"c":null}]}',
  '{"text":"}{][,\\"\\\\","ü":"\\u0041"} \r',
  '{"a":1},{"b":2}',
  '{"a":[1',
  '2]}',
  '{"a":"',
  '"}',
  '{"a":"\\',
  '{"a":1}]',
  '[{"a":1',
  '{"a":{"b":{"c":{"d":{}}}}}',
  `{"long":"${'x'.repeat(60)}"}`,
  '{"a":12345678901234567890}',
  '{"a":1]',
  '{"a":01}',
  '1',
  '',
  ' ',
  '{"a":1,}',
]

function isFast(line: string): boolean {
  return lines.indexOf(line) < 3
}

describe('Contract 2.2.9: lines parsed together', () => {
  test('are what each is by itself, whatever stands before and behind it', async () => {
    let together = 0
    for (const one of lines) {
      for (const two of lines) {
        for (const three of lines) {
          const some = [one, two, three]
          const { ends, values } = parseLines(Buffer.from(some.join('\n')), limits)
          const wholes = some.map((_, at) => Buffer.byteLength(some.slice(0, at + 1).join('\n')))
          expect(ends, some.join('\n')).toEqual(wholes)
          expect(values !== undefined, some.join('\n')).toBe(some.every(isFast))
          if (values === undefined) continue
          together++
          expect(values).toEqual(some.map((line) => parseJson(Buffer.from(line), limits)))
        }
      }
    }
    expect(together).toBe(27)
  })

  test.each([
    ['1234567890123456', false],
    ['-9007199254740993', false],
    ['123456789012345', true],
    ['123456789012.5', false],
    ['1.00001', false],
    ['1.25', true],
    ['0.1234567890E5', false],
    ['1e-400', false],
    ['1E-400', false],
    ['1e-40', true],
    ['true,"b":false', true],
    ['"1234567890123456"', true],
  ])('are left to be parsed one by one where a double may not hold %s', (number, isFast) => {
    const line = `{"a":${number}}`
    const { values } = parseLines(Buffer.from(`${line}\n${line}`), limits)
    const alone = parseJson(Buffer.from(line), limits)
    expect(values).toEqual(isFast ? [alone, alone] : undefined)
  })

  test('are not looked at byte by byte behind what a line that is parsed with others may have', () => {
    const line = `{"text":"${'x'.repeat(1_000)}","more":[1]}`
    let looks = 0
    const bytes = new Proxy(Buffer.from([line, '{}', line].join('\n')), {
      get(target, name) {
        if (typeof name === 'string' && /^\d+$/.test(name)) looks++
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    const { ends, values } = parseLines(bytes, limits)
    expect(ends).toEqual([line.length, line.length + 3, 2 * line.length + 4])
    expect(values).toBeUndefined()
    expect(looks).toBeLessThan(2 * limits.valuesMax)
  })

  test('are left to be parsed one by one where their bytes are no UTF-8', () => {
    const bytes = Buffer.concat([Buffer.from('{"a":1}\n{"b":"'), Buffer.from([0xff]), Buffer.from('"}')])
    expect(parseLines(bytes, limits)).toEqual({ ends: [7, 17], values: undefined })
  })
})
