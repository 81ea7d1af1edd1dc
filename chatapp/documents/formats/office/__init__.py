"""What the Office formats share: archives, XML, drawings, charts, numbers and symbols."""
