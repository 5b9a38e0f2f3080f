// Arithmetic on vectors, for providers and their tests.

/** Scales a vector to length 1; one of zeros stays. Answers with the same vector. */
export function normalise(vector) {
  const length = Math.hypot(...vector);
  if (length > 0) for (let place = 0; place < vector.length; place += 1) vector[place] /= length;
  return vector;
}

/** The cosine of two vectors, from -1 to 1; 0 where one of them is all zeros. */
export function cosine(one, other) {
  let product = 0;
  for (let place = 0; place < one.length; place += 1) product += one[place] * other[place];
  const lengths = Math.hypot(...one) * Math.hypot(...other);
  return lengths > 0 ? product / lengths : 0;
}
