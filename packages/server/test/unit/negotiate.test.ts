/** Content types that requests send and ask for (REST interface, section 1). */
import { describe, expect, it } from 'vitest'
import { negotiate, readContentType } from '../../src/http/negotiate.ts'

const never = false
const always = true

describe('readContentType', () => {
  it.each([
    '',
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset=utf-8',
    'application/json,Accept:application/json',
  ])('takes %s as JSON', (contentType) => {
    expect(readContentType(contentType, never)).toBe('json')
    expect(readContentType(contentType, always)).toBe('json')
  })

  it.each(['text/plain', 'application/jsonp', 'application/xml', 'multipart/form-data; boundary=x', 'json'])(
    'refuses %s',
    (contentType) => {
      expect(() => readContentType(contentType, never)).toThrow(
        expect.objectContaining({ type: 'UnsupportedMediaType' }),
      )
    },
  )

  it.each([
    'text/plain',
    'Text/Plain; charset=UTF-8',
    'text/plain;format=flowed;charset="utf8"',
    'text/plain; charset=us-ascii',
  ])('takes %s as text where the operation does', (contentType) => {
    expect(readContentType(contentType, always)).toBe('text')
  })

  it.each([
    'text/plain; charset=iso-8859-1',
    'text/plain; charset=',
    'text/plainer',
    'text/html',
    'text/plain,text/html',
  ])('refuses %s even then', (contentType) => {
    expect(() => readContentType(contentType, always)).toThrow(
      expect.objectContaining({ type: 'UnsupportedMediaType' }),
    )
  })
})

describe('negotiate', () => {
  it.each([
    '',
    '*/*',
    'application/json',
    'application/*',
    'APPLICATION/JSON',
    'application/problem+json',
    'application/json; charset=utf-8',
    'text/html, application/json;q=0.5',
    'text/html, image/gif, *; q=.2, */*; q=.2',
  ])('takes %s', (accept) => {
    expect(negotiate(accept, ['json'])).toBe('json')
    expect(negotiate(accept, ['json', 'ndjson'])).toBe('json')
  })

  const refusal = expect.objectContaining({ type: 'NotAcceptable' })

  it.each(['text/html', 'text/*', 'application/json;q=0', 'application/xml', '*/*;q=0'])('refuses %s', (accept) => {
    expect(() => negotiate(accept, ['json'])).toThrow(refusal)
    expect(() => negotiate(accept, ['json', 'ndjson'])).toThrow(refusal)
  })

  it.each([
    'application/x-ndjson',
    'application/x-ndjson;q=0.1, text/html',
    'application/x-ndjson, application/problem+json',
    'application/x-ndjson, application/json;q=0.9',
    'application/x-ndjson, */*',
    'application/json;q=0, */*',
    'APPLICATION/X-NDJSON ; Q=1',
  ])('finds that %s prefers rows by line', (accept) => {
    expect(negotiate(accept, ['json', 'ndjson'])).toBe('ndjson')
  })

  it.each(['application/json, application/x-ndjson', 'application/x-ndjson;q=0.5, application/json;q=0.6'])(
    'finds that %s does not',
    (accept) => {
      expect(negotiate(accept, ['json', 'ndjson'])).toBe('json')
    },
  )

  it('refuses rows by line, and JSON that is excluded, where there is nothing else', () => {
    expect(() => negotiate('application/x-ndjson', ['json'])).toThrow(refusal)
    expect(() => negotiate('application/json;q=0, */*', ['json'])).toThrow(refusal)
  })
})
