// The input as fields of its schema, or as JSON: where there is no schema, and for those who would rather type it.

import { useState } from "preact/hooks";

import type { Json, Schema } from "../../api/types";
import type { FormProblem } from "../../fold/schema";
import { hasForm, placeName } from "../../fold/start";
import { Button } from "../../parts/button";
import { JsonField } from "../../parts/json_field";
import { SchemaForm } from "../../parts/schema_form";

interface InputFieldsProps {
  schema: Schema | null;
  value: Json | undefined;
  problems: FormProblem[];
  others: FormProblem[];
  onChange: (value: Json | undefined) => void;
}

export function InputFields({ schema, value, problems, others, onChange }: InputFieldsProps) {
  const canForm = hasForm(schema);
  const [isJson, setJson] = useState(!canForm);
  const all = [...problems, ...others];
  return (
    <>
      <div class="row start-input-head">
        <h2>Input</h2>
        {canForm && (
          <Button kind="quiet" aria-pressed={isJson} onClick={() => setJson(!isJson)}>
            As JSON
          </Button>
        )}
      </div>
      {isJson || !canForm ? (
        <JsonField
          label="Input as JSON"
          about={canForm ? null : "This graph does not describe its input. It is an object with a value for each channel, or {} for none."}
          value={value}
          error={all.length === 0 ? null : all.map(({ path, text }) => `${placeName(path)} ${text}`.trim()).join("; ")}
          isRequired={canForm}
          onChange={onChange}
        />
      ) : (
        <SchemaForm schema={schema} value={value} problems={problems} name="input" isVerbatim onChange={onChange} />
      )}
    </>
  );
}
