/** A class with an attribute of every type of single values, and objects of it. */

export const everyType = `UPDATE SCHEMA {
  CREATE CLASS Every.Value {
    label: String, flag: Boolean, letter: Character, tiny: Integer{Storage: B8}, whole: Integer, big: Integer{Storage: B64},
    natural: Integer{Encoding: Unsigned, Storage: B64}, single: Real{Storage: B32}, real: Real, exact: Decimal{Precision: 20, Scale: 4}, guid: Guid, text: String,
    day: Date, clock: Time, moment: DateTime, zoned: DateTime{Storage: DateTimeOffset}, span: Interval, data: Bytes,
    other: Reference{Referenced: Every.Value}
  }
}`

/** `low`: less than `high` in every attribute. `none`: null in every attribute. */
export const everyValue = `
  CREATE Every.Value {
    label: 'low', flag: false, letter: 'a', tiny: 1, whole: 1, big: 1, natural: 1, single: 1.0, real: 1.0, exact: 1,
    guid: '00000000-0000-4000-8000-00000000000a', text: 'a', day: 2024-02-28, clock: 08:05:09.25,
    moment: 2024-02-28 08:05:09.25, zoned: 2024-02-28 08:05:09.25 +05:30, span: INTERVAL{DAYS: 1}, data: BYTES('AP8=')
  };
  CREATE Every.Value {
    label: 'high', flag: true, letter: 'b', tiny: 2, whole: 2, big: 2, natural: 2, single: 2.0, real: 2.0, exact: 2,
    guid: '00000000-0000-4000-8000-00000000000b', text: 'b', day: 2024-02-29, clock: 08:05:09.26,
    moment: 2024-02-29 08:05:09.25, zoned: 2024-02-29 08:05:09.25 +05:30, span: INTERVAL{DAYS: 2}, data: BYTES('gA'),
    other: (LOOKUP Every.Value WHERE label = 'low')
  };
  CREATE Every.Value {
    label: 'none', flag: null, letter: null, tiny: null, whole: null, big: null, natural: null, single: null, real: null, exact: null,
    guid: null, text: null, day: null, clock: null, moment: null, zoned: null, span: null, data: null, other: null
  }`
