/** Bodies against their schemas: what that costs does not grow with their texts. */
import { expect, it, vi } from 'vitest'
import { validateBody } from '../../src/dispatch/validate-body.ts'
import { QueryBody } from '../../src/wire/wire-schemas.ts'

it('a long text is not gone through to see that it is not empty', () => {
  expect(() => validateBody(QueryBody, { query: '' })).toThrow()
  const looks = vi.spyOn(String.prototype, 'charCodeAt')
  try {
    validateBody(QueryBody, { query: 'x'.repeat(100_000) })
    expect(looks.mock.calls.length).toBeLessThan(100)
  } finally {
    looks.mockRestore()
  }
})
