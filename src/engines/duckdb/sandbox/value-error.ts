/** Messages of the engine about a value that a query cannot process. */
const VALUE_ERROR = /\b(Conversion|Invalid Input|Out of Range|Mismatch Type) Error\b/

/** Whether a query failed on a value of its rows, and not for a reason of the engine. */
export function isValueError({ message }: Error): boolean {
  return VALUE_ERROR.test(message)
}
