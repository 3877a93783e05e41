/** Which addresses count as one when passwords are wrong. */
import { expect, it } from 'vitest'
import { signInFailures } from '../../src/limits.ts'
import { SignInThrottle } from '../../src/security/sign-in-throttle.ts'

/** Whether wrong passwords from one address keep the other from trying. */
function areOne(address: string, other: string): boolean {
  const throttle = new SignInThrottle(() => 0)
  for (let time = 0; time < signInFailures.pairMax; time++) throttle.begin('bob', address)
  try {
    throttle.begin('bob', other)
    return false
  } catch (error) {
    expect(error).toMatchObject({ type: 'TooManySignIns' })
    return true
  }
}

it.each([
  ['2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff'],
  ['2001:db8::1', '2001:db8:0:0:1:2:3:4'],
  ['2001:0db8:0:0::1', '2001:DB8::2'],
  ['fe80::1%eth0', 'fe80::2%eth0'],
  ['192.0.2.1', '::ffff:192.0.2.1'],
  ['', ''],
])('%s counts as %s', (address, other) => {
  expect(areOne(address, other)).toBe(true)
})

it.each([
  ['2001:db8:1:2::1', '2001:db8:1:3::1'],
  ['1::2:3:4:5:6:7', '1:0:2:4:4:5:6:7'],
  ['::ffff:192.0.2.1', '::ffff:192.0.2.2'],
  ['192.0.2.1', '192.0.2.2'],
])('%s does not count as %s', (address, other) => {
  expect(areOne(address, other)).toBe(false)
})

it('others who are wrong at an address do not keep out a name that has been right there', () => {
  const throttle = new SignInThrottle(() => 0)
  throttle.begin('ann', '192.0.2.1').wasRight()
  for (let time = 0; time < signInFailures.addressMax; time++) throttle.begin(`guess${time}`, '192.0.2.1')
  expect(() => throttle.begin('bob', '192.0.2.1')).toThrow(/Too many wrong passwords/)
  // Guesses of this name are as few as anywhere.
  for (let time = 0; time < signInFailures.pairMax; time++) throttle.begin('ann', '192.0.2.1')
  expect(() => throttle.begin('ann', '192.0.2.1')).toThrow(/Too many wrong passwords/)
})
