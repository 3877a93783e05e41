/** Content types that requests send and ask for (REST interface, section 1). */
import { describe, expect, it } from 'vitest'
import { checkAccept, checkContentType } from '../../src/negotiate.ts'

describe('checkContentType', () => {
  it.each([
    undefined,
    '',
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset=utf-8',
    'application/json,Accept:application/json',
  ])('takes %s', (contentType) => {
    expect(() => checkContentType(contentType)).not.toThrow()
  })

  it.each(['text/plain', 'application/jsonp', 'application/xml', 'multipart/form-data; boundary=x', 'json'])(
    'refuses %s',
    (contentType) => {
      expect(() => checkContentType(contentType)).toThrow(expect.objectContaining({ type: 'UnsupportedMediaType' }))
    },
  )
})

describe('checkAccept', () => {
  it.each([
    undefined,
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
    expect(() => checkAccept(accept)).not.toThrow()
  })

  it.each(['text/html', 'text/*', 'application/json;q=0', 'application/json;q=0, */*', 'application/xml', '*/*;q=0'])(
    'refuses %s',
    (accept) => {
      expect(() => checkAccept(accept)).toThrow(expect.objectContaining({ type: 'NotAcceptable' }))
    },
  )
})
