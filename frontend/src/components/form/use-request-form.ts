import { type FormErrors, useForm, type UseFormReturnType } from '@mantine/form'
import type { FormEvent, SyntheticEvent } from 'react'
import { type FormSchema, validateForm } from './form-schema.ts'

interface RequestFormOptions<Values, Request> {
  readonly initialValues: Values
  readonly schema: FormSchema<Values, Request>
  readonly onRequest: (request: Request) => void
  /** Called when a value changes. */
  readonly onChange?: () => void
}

interface RequestForm<Values extends object> {
  readonly form: UseFormReturnType<Values>
  readonly submit: (event?: FormEvent<HTMLFormElement>) => void
}

/** A form that is checked when it is submitted; a valid one becomes a request, else the first wrong field gets focus. */
export function useRequestForm<Values extends object, Request>(
  options: RequestFormOptions<Values, Request>,
): RequestForm<Values> {
  const { initialValues, schema, onRequest, onChange } = options
  const form = useForm<Values>({
    initialValues,
    validate: (values): FormErrors => validateForm(schema, values),
    ...(onChange ? { onValuesChange: onChange } : {}),
  })
  const submit = form.onSubmit(
    (values) => onRequest(schema.parse(values)),
    (_errors, _values, event) => focusFirstError(event),
  )
  return { form, submit }
}

/** Moves the focus to the first field with an error, after it is drawn. */
function focusFirstError(event: SyntheticEvent | undefined): void {
  const target = event?.target
  requestAnimationFrame(() => {
    if (target instanceof HTMLElement) target.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  })
}
